// Configuration of the browser tests. Each test starts its own console and Redis servers (see
// tests/fixtures.ts), so no web server is configured here.
import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

const { CARGO_TARGET_DIR, CI, LOCKKEEPER_CHROMIUM, LOCKKEEPER_MEASURE, LOCKKEEPER_RELEASE, LOCKKEEPER_URL } = process.env;
const target = CARGO_TARGET_DIR ?? '../target';

// The browser of the distribution, or the one that `playwright install chromium` downloads.
const chromium = [LOCKKEEPER_CHROMIUM, '/usr/bin/chromium'].find((path) => path && existsSync(path));
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  forbidOnly: !!CI,
  // The pictures of the documentation are taken of a console that is already running.
  globalSetup: LOCKKEEPER_URL ? undefined : './global_setup.ts',
  fullyParallel: true,
  // Measurements run alone, because a test beside them would change their results.
  workers: LOCKKEEPER_MEASURE ? 1 : 2,
  retries: 0,
  // Sufficient for a machine five times slower than a development machine.
  timeout: 240_000,
  expect: {
    timeout: 30_000,
    // Text rendering differs slightly between browser builds; a missing column exceeds this
    // tolerance by far.
    toHaveScreenshot: { maxDiffPixelRatio: 0.002, threshold: 0.3, animations: 'disabled', caret: 'hide', scale: 'css' },
  },
  snapshotPathTemplate: 'pictures/{arg}{ext}',
  outputDir: `${target}/end2end`,
  reporter: [[process.stdout.isTTY ? 'line' : 'list'], ['json', { outputFile: `${target}/test-results/end2end.json` }]],
  use: {
    browserName: 'chromium',
    // Grayscale and unhinted text looks nearly the same on most machines.
    launchOptions: { executablePath: chromium, args: ['--disable-lcd-text', '--font-render-hinting=none', ...(isRoot ? ['--no-sandbox'] : [])] },
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    // A quarter of the time of a test would be spent on its trace. To debug one: `npm run end2end -- FILE --trace on`.
    trace: 'off',
    screenshot: 'only-on-failure',
  },
  projects: LOCKKEEPER_URL
    ? // screenshots of the documentation, taken by scripts/screenshots.sh
      [{ name: 'docs-screenshots', testDir: '.', testMatch: 'docs_screenshots.ts', use: { baseURL: LOCKKEEPER_URL } }]
    : LOCKKEEPER_MEASURE
      ? // measurements, run by `make bench-ui`
        [{ name: 'measure', testDir: 'measure', testMatch: '*.ts', use: { screenshot: 'off' } }]
      : LOCKKEEPER_RELEASE
        ? // all tests against the release binary, run by `make test-release`
          [{ name: 'release', testDir: 'tests' }]
        : [{ name: 'browser', testDir: 'tests', testIgnore: 'release_build.spec.ts' }],
});
