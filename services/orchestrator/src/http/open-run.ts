/** What every word of a person to a run begins with. */
import type { Bus, Definitions } from '@pawl/bus';
import { RejectedError } from '@pawl/contracts';
import type { Authorizer } from '@pawl/service';
import type { FastifyRequest } from 'fastify';
import type { SayWord } from '../intake/say-word.ts';
import type { Partitions } from '../partitions/partitions.ts';
import { foldRun, type ReadRun } from '../partitions/read-run.ts';
import type { ChangedAtMs } from '../run/changed-tools.ts';

export type WordRoutes = {
  authorizer: Authorizer;
  bus: Bus;
  definitions: Definitions;
  changedAtMs: ChangedAtMs;
  readRun: ReadRun;
  partitions: Partitions;
  sayWord: SayWord;
};

/** A run of the caller's app that takes words, and what every word of a person has. */
export async function openRun(request: FastifyRequest<{ Params: { id: string } }>, using: WordRoutes) {
  const caller = using.authorizer.authorizeApp(request, 'runs:write');
  const { id } = request.params;
  const current = await using.readRun.read(caller.app, id);
  if (current.status === 'ended') throw new RejectedError('run_ended', `the run ended with ${current.stopReason}`);
  const state = using.partitions.find(id) ?? (await foldRun(using.bus, caller.app, id));
  if (!state) throw new RejectedError('conflict', 'the run has not begun yet: try again in a moment');
  const by = caller.user ? `user ${caller.user.id}` : `key ${caller.keyId}`;
  const base = { v: 1 as const, runId: id, app: caller.app, at: new Date().toISOString(), by };
  return { state, base, view: () => using.readRun.read(caller.app, id) };
}
