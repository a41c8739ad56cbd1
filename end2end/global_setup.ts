// Ends a run at once if the browser half was not built: every page would wait for it until its limit.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

export default function checkBrowserHalf() {
  // Independent of CARGO_TARGET_DIR.
  const file = resolve(__dirname, '../target/site/pkg/lockkeeper.wasm');
  if (!existsSync(file)) {
    throw new Error(`${file} does not exist. \`make end2end\` builds it.`);
  }
}
