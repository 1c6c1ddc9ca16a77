/**
 * `npm run generate`: runs the generator of every workspace that has one (`src/generate.ts`), and of the chart. A test compares what they
 * write with what is committed.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

for (const file of globSync([
  '{libs,services,examples}/*/src/generate.ts',
  'deploy/chart/source/generate.ts',
]).toSorted()) {
  console.log(file);
  const { status } = spawnSync(process.execPath, [file], { stdio: 'inherit' });
  if (status !== 0) {
    console.error(`${file} failed.`);
    process.exitCode = 1;
  }
}
