/**
 * Counts the tests of a vitest run for the last line of `npm test`. Stricter than vitest: a skipped test has to say why
 * (`context.skip('reason')`), a file or suite that fails outside of its tests counts, and no test at all is a failure.
 */
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

export class TestReport implements Reporter {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly remarks: string[] = [];

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    for (const module of modules) this.countModule(module);
    if (unhandledErrors.length > 0)
      this.fail(`${unhandledErrors.length} errors outside of any test`, unhandledErrors.length);
    if (this.passed + this.failed + this.skipped === 0) this.fail('no test was found, which counts as a failure');
  }

  /** Exactly what the last line of the output has to be. */
  lastLine(): string {
    return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
  }

  private countModule(module: TestModule): void {
    const file = relative(process.cwd(), module.moduleId);
    for (const test of module.children.allTests()) this.countTest(file, test);
    for (const part of [module, ...module.children.allSuites()]) this.countErrors(file, part);
  }

  private countErrors(file: string, part: TestModule | TestSuite): void {
    if (part.errors().length === 0) return;
    this.fail(
      part.type === 'suite'
        ? `${file}: ${part.fullName} failed outside of its tests`
        : `${file} failed outside of its tests`,
    );
  }

  private countTest(file: string, test: TestCase): void {
    const result = test.result();
    const name = `${file}: ${test.fullName}`;
    if (result.state === 'passed') this.passed += 1;
    else if (result.state === 'failed') this.failed += 1;
    else if (result.state === 'pending') this.fail(`${name} never ended`);
    else if (result.note?.trim()) {
      this.skipped += 1;
      this.remarks.push(`skipped  ${name}: ${result.note}`);
    } else if (!isVictim(test)) this.fail(`${name} is skipped without a reason (say it with context.skip('reason'))`);
  }

  private fail(remark: string, count = 1): void {
    this.failed += count;
    this.remarks.push(`failed   ${remark}`);
  }
}

/** Never ran because its suite or file failed first; that failure is counted by itself. */
function isVictim(test: TestCase): boolean {
  for (let part: TestSuite | TestModule = test.parent; ; part = part.parent) {
    if (part.errors().length > 0) return true;
    if (part.type === 'module') return false;
  }
}
