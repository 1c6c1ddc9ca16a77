/**
 * `npm test`: every test of every workspace. Its last line on standard output is `N passed, N failed, N skipped`.
 * Arguments narrow it down to files: `npm test -- libs/bus`; `--full` adds the long ones; `--root` is for the tests of this.
 */
import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';
import { DevstackError, ensureChromium, ensureNatsServer } from '@pawl/devstack';
import { TestReport } from './test-report.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: { type: 'boolean' }, root: { type: 'string' } },
});

// The launcher holds the other end; without it nobody waits for the result.
process.on('disconnect', () => process.exit(1));
process.channel?.unref();

process.exitCode = await main();

async function main(): Promise<number> {
  if (values.full) process.env.PAWL_TEST_FULL = '1';
  try {
    if (!process.env.PAWL_NATS_URL) await ensureNatsServer({ say: (sentence) => console.error(sentence) });
  } catch (error) {
    if (!(error instanceof DevstackError)) throw error;
    console.error(error.message);
    console.log('0 passed, 1 failed, 0 skipped');
    return 1;
  }
  if (values.root === undefined) await findBrowser();
  const report = new TestReport();
  const vitest = await startVitest(positionals, {
    run: true,
    watch: false,
    reporters: ['default', report],
    ...(values.root !== undefined && { root: values.root }),
  });
  await vitest.close();
  for (const remark of report.remarks) console.log(remark);
  console.log(report.lastLine());
  return report.failed > 0 ? 1 : 0;
}

/** Without one the tests of the page are skipped, and say so. */
async function findBrowser(): Promise<void> {
  try {
    await ensureChromium({ say: (sentence) => console.error(sentence) });
  } catch (error) {
    if (!(error instanceof DevstackError)) throw error;
    console.error(error.message);
  }
}
