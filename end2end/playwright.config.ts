// How the browser tests run. Each test starts a console and Redis servers of its own (see tests/fixtures.ts), so there
// is no web server here.
import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

const { CARGO_TARGET_DIR, CI, LOCKKEEPER_CHROMIUM, LOCKKEEPER_MEASURE, LOCKKEEPER_RELEASE, LOCKKEEPER_URL } = process.env;
const target = CARGO_TARGET_DIR ?? '../target';

// The distribution's browser; without it, the one that `playwright install chromium` downloads.
const chromium = [LOCKKEEPER_CHROMIUM, '/usr/bin/chromium'].find((path) => path && existsSync(path));
const root = process.getuid?.() === 0;

export default defineConfig({
  forbidOnly: !!CI,
  fullyParallel: true,
  // What is measured is measured alone.
  workers: LOCKKEEPER_MEASURE ? 1 : 2,
  retries: 0,
  // As much as a machine needs that is five times slower.
  timeout: 240_000,
  expect: {
    timeout: 30_000,
    // Another build of the browser draws letters a little differently; a column that is gone is far more than that.
    toHaveScreenshot: { maxDiffPixelRatio: 0.002, threshold: 0.3, animations: 'disabled', caret: 'hide', scale: 'css' },
  },
  snapshotPathTemplate: 'pictures/{arg}{ext}',
  outputDir: `${target}/end2end`,
  reporter: [[process.stdout.isTTY ? 'line' : 'list'], ['json', { outputFile: `${target}/test-results/end2end.json` }]],
  use: {
    browserName: 'chromium',
    // Letters in shades of grey, unhinted: pictures of them are alike on most machines.
    launchOptions: { executablePath: chromium, args: ['--disable-lcd-text', '--font-render-hinting=none', ...(root ? ['--no-sandbox'] : [])] },
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure',
  },
  projects: LOCKKEEPER_URL
    ? // pictures of a running demo, see scripts/screenshots.sh
      [{ name: 'screenshots', testDir: '.', testMatch: 'screenshots.ts', use: { baseURL: LOCKKEEPER_URL } }]
    : LOCKKEEPER_MEASURE
      ? // figures, not tests: `make measure-ui`
        [{ name: 'measure', testDir: 'measure', testMatch: '*.ts', use: { trace: 'off', screenshot: 'off' } }]
      : LOCKKEEPER_RELEASE
        ? // the executable that is shipped: `make test-release`
          [{ name: 'release', testDir: 'tests', testMatch: /(bulk|bundles|demo|dialogs|every_page|languages|no_kit|other_version|parts|search|shortcuts|watch_a_lock)\.spec\.ts$/ }]
        : [{ name: 'stories', testDir: 'tests', testIgnore: 'no_kit.spec.ts' }],
});
