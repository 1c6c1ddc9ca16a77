/**
 * GET /v1/ledger: lines of the books, newest first. POST /v1/ledger/corrections: a later change of what a call cost, with the
 * admin key only, as a line of its own: nothing in the books is ever changed. Repeating it with the same `Idempotency-Key`
 * changes nothing.
 */
import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { nanoUsdSchema, objectNameSchema, RejectedError } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import { guard, guardAdmin, type Authorizer, type Http } from '@pawl/service';
import { fromUsd } from '../price/exchange-rates.ts';
import { levelsOf } from '../budget/levels.ts';
import type { BudgetSource } from '../budget/budget-source.ts';
import type { BudgetStore } from '../budget/store.ts';
import { correctionOf } from '../ledger/correction.ts';
import { findLine, listLines } from '../ledger/lines.ts';

const bodySchema = z.strictObject({
  /** Of the line to correct. */
  callId: z.uuid(),
  /** What is added to what the call cost; negative to take back. */
  costNanoUsd: nanoUsdSchema,
  note: z.string().min(1).max(1_000),
});
const headersSchema = z.looseObject({ 'idempotency-key': z.string().min(1).max(255).optional() });
const querySchema = z.object({
  app: objectNameSchema.optional(),
  run: z.string().max(100).optional(),
  stopKind: z.string().max(40).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export function serveLedger(
  http: Http,
  deps: { authorizer: Authorizer; database: Database; budgets: BudgetSource; store: BudgetStore },
): void {
  const onRequest = guard(deps.authorizer, 'budgets');
  http.get('/v1/ledger', { onRequest, schema: { querystring: querySchema } }, async (request) => {
    const caller = deps.authorizer.authorize(request, 'budgets');
    const app = caller.kind === 'app' ? caller.app : request.query.app;
    if (app === undefined) throw new RejectedError('invalid_request', 'the admin key needs ?app=<name>');
    return { items: await listLines(deps.database, { ...request.query, app }) };
  });
  const schema = { body: bodySchema, headers: headersSchema };
  const onlyAdmin = guardAdmin(deps.authorizer);
  http.post('/v1/ledger/corrections', { onRequest: onlyAdmin, schema }, async (request, reply) => {
    deps.authorizer.authorizeAdmin(request);
    const { callId, costNanoUsd, note } = request.body;
    const line = await findLine(deps.database, callId);
    if (!line) throw new RejectedError('not_found', `there is no line ${callId} in the books`);
    const key = request.headers['idempotency-key'];
    const correctionId = key === undefined ? randomUUID() : uuidOf(`${callId}/${key}`);
    const entry = correctionOf(line, { correctionId, costNanoUsd, note, at: new Date().toISOString() });
    const spender = { app: line.app, agent: line.agent ?? undefined, userId: line.user_id ?? undefined, runs: [] };
    // What a correction changes is the window in which the call was made.
    const levels = levelsOf(spender, deps.budgets.budgetsAt(line.app, Date.parse(line.at)));
    const taken = levels.map(({ unit, rate }) => (unit === 'nano-usd' ? fromUsd(BigInt(costNanoUsd), rate) : 0n));
    const call = { runId: `correction_${correctionId}`, m: 0 };
    await deps.store.charge({ call, levels, taken, entry, thought: undefined });
    return reply.code(201).send({ callId: correctionId, corrects: callId, costNanoUsd, note });
  });
}

/** A UUID that follows from a text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
