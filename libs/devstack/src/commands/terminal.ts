/**
 * What the development commands print: progress that goes away, sentences that stay. Colours and the spinner only on a
 * terminal; piped output is plain and keeps its order. Everything goes to standard output, so that a last line is last.
 */
import { isatty } from 'node:tty';
import ora from 'ora';
import colors from 'picocolors';

export interface Terminal {
  /** Text emphasis, or none when the output is piped. */
  readonly colors: ReturnType<typeof colors.createColors>;
  /** Columns to wrap at. */
  readonly width: number;
  /** Says what is being waited for, until the next call of any of these. */
  progress(what: string): void;
  /** Ends the progress without a trace. */
  progressDone(): void;
  print(text: string): void;
}

const WIDTH_MAX = 110;

export function createTerminal(): Terminal {
  const isTerminal = isatty(process.stdout.fd);
  // A terminal without a size (under some test tools) reports 0 columns, on which the spinner would never come to an end.
  const columns = isTerminal ? process.stdout.columns : 0;
  const spinner = columns > 0 ? ora({ discardStdin: false, stream: process.stdout }) : undefined;
  let shown = '';
  return {
    colors: colors.createColors(isTerminal && colors.isColorSupported),
    width: Math.min(columns || WIDTH_MAX, WIDTH_MAX),
    progress(what) {
      if (what === shown) return;
      shown = what;
      const line = what.endsWith('.') ? what : `${what} …`;
      if (spinner) spinner.start(line);
      else console.log(line);
    },
    progressDone() {
      shown = '';
      spinner?.stop();
    },
    print(text) {
      const isSpinning = spinner?.isSpinning;
      spinner?.stop();
      console.log(text);
      if (isSpinning) spinner?.start();
    },
  };
}
