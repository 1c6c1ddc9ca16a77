/**
 * MCP over the standard streams of a child process. The child gets the environment that it is given and nothing of ours (C20),
 * is the leader of a group that ends as a whole, and is read line by line; a line above the cap is taken as it comes.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { PassThrough, type Readable } from 'node:stream';
import { tmpdir } from 'node:os';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Stage } from '../../results/result-store.ts';
import { takeLongMessage, type LongReplies } from './long-message.ts';
import { guardedMessage, type MessageId } from './reply-guard.ts';

export type StdioOptions = {
  command: string;
  args: readonly string[];
  /** All that the child gets. */
  environment: Readonly<Record<string, string>>;
  bytesMax: number;
  stage: Stage;
  /** The call that is being made. */
  call(): LongReplies | undefined;
};

const closeWithinMs = 2_000;
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
  /** Calls that wait for their reply, by the id of their request. */
  readonly #calls = new Map<MessageId, LongReplies>();

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
    const reader = createLineReader({
      bytesMax: this.#options.bytesMax,
      onLine: (line) => this.#take(line),
      onLongLine: (chunks) => void this.#takeLong(chunks),
      stream: child.stdout,
    });
    child.stdout.on('data', reader.write);
    child.stdout.once('close', reader.end);
    child.stderr.on('data', (chunk: Buffer) => (this.stderr = (this.stderr + chunk.toString()).slice(-errorCharsMax)));
    // A child that is gone can't be written to; its end is told by `close`.
    child.stdin.on('error', () => {});
    child.on('error', (error) => this.onerror?.(error));
    child.once('close', () => {
      this.#child = undefined;
      this.onclose?.();
    });
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    try {
      const message = JSON.parse(guardedMessage(line, undefined)) as JSONRPCMessage;
      if ('id' in message && message.id !== undefined && !('method' in message)) this.#calls.delete(message.id);
      // Whatever a child says shows that it lives; a call may have to wait for others.
      for (const call of this.#calls.values()) call.onLife();
      this.onmessage?.(message);
    } catch (error) {
      // Servers print greetings to where only messages belong.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** A message that belongs to nobody, or that can't be kept, ends the connection: nobody knows whose answer it was. */
  async #takeLong(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const { bytesMax, stage } = this.#options;
    const isWanted = [...this.#calls.values()].some((call) => call.spool);
    const reply = await takeLongMessage(chunks, {
      bytesMax,
      expectedId: undefined,
      callOf: (id) => this.#calls.get(id),
      stage: isWanted ? stage : undefined,
    }).catch(() => undefined);
    if (reply !== undefined) return this.#take(reply);
    this.onerror?.(new Error('a message that is too large, and belongs to nobody'));
    await this.close();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new Error('the server has ended');
    const call = this.#options.call();
    for (const [id, each] of this.#calls) if (each.isOver) this.#calls.delete(id);
    if (call && 'method' in message && 'id' in message && message.method === 'tools/call')
      this.#calls.set(message.id, call);
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

type LineReading = {
  bytesMax: number;
  onLine(line: string): void;
  /** Gets a line that is longer than the cap, as it comes. */
  onLongLine(chunks: AsyncIterable<Uint8Array>): void;
  /** Is made to wait while nobody takes what has come. */
  stream: Readable;
};

const lineFeed = 0x0a;

function createLineReader({ bytesMax, onLine, onLongLine, stream }: LineReading): {
  write(chunk: Buffer): void;
  end(): void;
} {
  let kept: Buffer[] = [];
  let size = 0;
  let long: PassThrough | undefined;
  const pour = (piece: Buffer) => {
    if (piece.length === 0 || !long || long.destroyed || long.write(piece)) return;
    stream.pause();
    long.once('drain', () => stream.resume());
    long.once('close', () => stream.resume());
  };
  const take = (piece: Buffer) => {
    if (long) return pour(piece);
    kept.push(piece);
    size += piece.length;
    if (size <= bytesMax) return;
    long = new PassThrough({ highWaterMark: 1024 * 1024 });
    long.on('error', () => {});
    onLongLine(long);
    for (const each of kept.splice(0)) pour(each);
  };
  const endLine = () => {
    if (long) long.end();
    else onLine(Buffer.concat(kept).toString('utf8'));
    long = undefined;
    kept = [];
    size = 0;
  };
  return {
    end: () => void long?.destroy(),
    write(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
        take(chunk.subarray(from, at));
        endLine();
        from = at + 1;
      }
      take(chunk.subarray(from));
    },
  };
}
