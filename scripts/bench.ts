/**
 * `npm run bench`: the files test/bench/*.bench.ts, one after another, each in a process of its own so that none disturbs
 * the next. Arguments choose by name: `npm run bench -- overhead`.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

const chosen = process.argv.slice(2);
const files = globSync('test/bench/*.bench.ts')
  .toSorted()
  .filter((file) => chosen.length === 0 || chosen.some((name) => file.includes(name)));

if (files.length === 0) {
  console.error(`No benchmark in test/bench is named like ${chosen.join(', ') || '*.bench.ts'}.`);
  process.exitCode = 1;
}
for (const file of files) {
  console.log(`\n${file}`);
  const { status } = spawnSync(process.execPath, [file], { stdio: 'inherit' });
  if (status !== 0) {
    console.error(`${file} failed.`);
    process.exitCode = 1;
  }
}
