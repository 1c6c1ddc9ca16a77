/** What every command gets. */
import type { Command } from 'commander';
import type { PawlClient } from '../client.ts';
import type { Output } from './output.ts';

export type Using = {
  client: PawlClient;
  output: Output;
  /** How this command line was called, for commands to type next: `pawl`, `npx pawl`, `pawl --app other`. */
  pawl: string;
};

export type CommandLine = {
  program: Command;
  /** Throws `CommandError` when nothing points to a Pawl. */
  open(): Using;
  setExitCode(code: number): void;
};
