/**
 * `npm run verify`: everything that a change has to pass, one step after the other; at the end it says which failed.
 * `--only lint,types` runs some of them; `--write-format` formats instead of checking.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const BIN = join(import.meta.dirname, '../node_modules/.bin');
const CODE = ['libs', 'services', 'examples', 'scripts', 'deploy', 'test', 'vitest.config.ts'].filter((path) =>
  existsSync(path),
);

const steps: Record<string, readonly string[]> = {
  lint: [join(BIN, 'oxlint'), '--type-aware', '--report-unused-disable-directives', ...CODE],
  format: [join(BIN, 'oxfmt'), '--check', '.'],
  types: [join(BIN, 'tsc'), '--noEmit', '-p', '.'],
  'page types': [join(BIN, 'tsc'), '--noEmit', '-p', 'services/trace-store/web'],
  boundaries: [join(BIN, 'turbo'), 'boundaries'],
  unused: [join(BIN, 'knip'), '--no-progress'],
  tests: [process.execPath, join(import.meta.dirname, 'test.ts')],
};

const { values } = parseArgs({ options: { only: { type: 'string' }, 'write-format': { type: 'boolean' } } });

if (values['write-format']) process.exitCode = run([join(BIN, 'oxfmt'), '--write', '.']);
else process.exitCode = verify(values.only?.split(',') ?? Object.keys(steps));

function verify(names: readonly string[]): number {
  const failed = names.filter((name) => {
    console.log(`\n── ${name}`);
    return run(steps[name] ?? []) !== 0;
  });
  if (names.length > 1) console.log('');
  if (failed.length === 0) console.log(`${names.join(', ')}: all good.`);
  else console.log(`Failed: ${failed.join(', ')}.`);
  return failed.length === 0 ? 0 : 1;
}

function run([command = '', ...args]: readonly string[]): number {
  const { status, error } = spawnSync(command, args, {
    stdio: 'inherit',
    // turbo reports its use to its maker otherwise.
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
  });
  if (error) console.error(error.message);
  return status ?? 1;
}
