// Ends a run at once if the browser half was not built: every page would wait for it until its limit.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

export default function checkBrowserHalf() {
  const target = process.env.CARGO_TARGET_DIR ?? resolve(__dirname, '../target');
  const file = resolve(target, 'site/pkg/lockkeeper.wasm');
  if (!existsSync(file)) {
    throw new Error(`${file} does not exist. \`make end2end\` builds it.`);
  }
}
