/**
 * MCP over the standard streams of a child process. The child gets the environment that it is given and nothing of ours (C20),
 * is the leader of a group that ends as a whole, and is read line by line with a cap: what is above it is dropped as it comes.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { tmpdir } from 'node:os';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { guardedMessage, idOfCutReply, tooLargeReply } from './reply-guard.ts';

export type StdioOptions = {
  command: string;
  args: readonly string[];
  /** All that the child gets. */
  environment: Readonly<Record<string, string>>;
  bytesMax: number;
};

const closeWithinMs = 2_000;
const endsChars = 2_000;
const errorCharsMax = 4_000;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The last words of the child, for engineers. */
  stderr = '';
  pid: number | null = null;
  readonly #options: StdioOptions;
  #child: ChildProcessWithoutNullStreams | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { command, args, environment } = this.#options;
    const child = spawn(command, args, { env: environment, cwd: tmpdir(), detached: true });
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once('close', () => resolve()));
    this.#listen(child);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    this.pid = child.pid ?? null;
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    const onLine = createLineReader(this.#options.bytesMax, (line) => this.#take(line));
    child.stdout.on('data', onLine);
    child.stderr.on('data', (chunk: Buffer) => (this.stderr = (this.stderr + chunk.toString()).slice(-errorCharsMax)));
    // A child that is gone can't be written to; its end is told by `close`.
    child.stdin.on('error', () => {});
    child.on('error', (error) => this.onerror?.(error));
    child.once('close', () => {
      this.#child = undefined;
      this.onclose?.();
    });
  }

  #take(line: Line): void {
    if ('text' in line && line.text.trim() === '') return;
    const id = 'text' in line ? undefined : idOfCutReply(line.head, line.tail);
    if (!('text' in line) && id === undefined) {
      this.onerror?.(new Error('a message that is too large, and belongs to nobody'));
      void this.close();
      return;
    }
    const text = 'text' in line ? guardedMessage(line.text, undefined) : tooLargeReply(id ?? 0, this.#options.bytesMax);
    try {
      this.onmessage?.(JSON.parse(text) as JSONRPCMessage);
    } catch (error) {
      // Servers print greetings to where only messages belong.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new Error('the server has ended');
    await new Promise<void>((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Ends the child and all that it started: asked first, then not. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.stdin.end();
    this.#signal('SIGTERM');
    const timer = setTimeout(() => this.#signal('SIGKILL'), closeWithinMs);
    await this.#exited;
    clearTimeout(timer);
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      if (this.pid !== null) process.kill(-this.pid, signal);
    } catch {
      // The group is gone already.
    }
  }
}

type Line = { text: string } | { head: string; tail: string };

/** Lines up to the cap whole, longer ones by their ends alone. */
function createLineReader(bytesMax: number, onLine: (line: Line) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let pieces: string[] = [];
  let size = 0;
  let cut: { head: string; tail: string } | undefined;
  const take = (piece: string) => {
    size += piece.length;
    if (cut) cut.tail = (cut.tail + piece.slice(-endsChars)).slice(-endsChars);
    else if (size <= bytesMax) pieces.push(piece);
    else {
      const all = pieces.join('') + piece;
      cut = { head: all.slice(0, endsChars), tail: all.slice(-endsChars) };
      pieces = [];
    }
  };
  return (chunk) => {
    const [first = '', ...others] = decoder.write(chunk).split('\n');
    take(first);
    for (const piece of others) {
      const line = cut ?? { text: pieces.join('') };
      pieces = [];
      size = 0;
      cut = undefined;
      onLine(line);
      take(piece);
    }
  };
}
