/**
 * Webhooks: tells the app's own endpoint that a run has begun to wait for a person. Each wait is told at least once, whichever replica
 * dies meanwhile: that it was taken is noted in Postgres afterwards, and until then it is told again for as long as the run waits.
 */
import type { Definitions } from '@pawl/bus';
import type { Log } from '@pawl/service';
import type { RunStore } from '../intake/run-store.ts';
import { pauseOf, type RunState } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import { isWaiting } from '../run/waiting.ts';
import type { SendWebhook } from './send-webhook.ts';

/** Tells it unless the run doesn't wait, or this wait was told. May be asked again and again. */
export type TellWaiting = (state: RunState) => void;

/** Then always the last one. */
const triesAfterMs = [1_000, 5_000, 30_000, 300_000];

export type TellWaitingOptions = {
  definitions: Definitions;
  store: Pick<RunStore, 'toldWaiting' | 'noteToldWaiting'>;
  /** The value of `${secret:NAME}` for an app, or undefined. */
  secretOf(app: string, name: string): string | undefined;
  sendWebhook: SendWebhook;
  /** How a run stands that this replica decides for. */
  stateOf(runId: string): RunState | undefined;
  log: Log;
};

export function createTellWaiting(options: TellWaitingOptions): TellWaiting {
  const underWay = new Set<string>();
  return (state) => {
    const wait = waitOf(state);
    if (wait === undefined || underWay.has(wait)) return;
    underWay.add(wait);
    void tellUntilTaken(state.started.runId, wait, options).finally(() => underWay.delete(wait));
  };
}

/** The name of the wait that a run is in. */
function waitOf(state: RunState | undefined): string | undefined {
  if (!state || state.ended || pauseOf(state) || !isWaiting(state)) return undefined;
  return `${state.started.runId}.${state.turns.length}`;
}

async function tellUntilTaken(runId: string, wait: string, options: TellWaitingOptions): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const state = options.stateOf(runId);
    if (!state || waitOf(state) !== wait) return;
    try {
      await tell(state, wait, options);
      return;
    } catch (error) {
      options.log.warn({ err: error, runId }, 'the webhook was not told that the run waits; it will be');
    }
    const afterMs = triesAfterMs[Math.min(tries, triesAfterMs.length - 1)];
    await new Promise((resolve) => setTimeout(resolve, afterMs).unref());
  }
}

async function tell(state: RunState, wait: string, options: TellWaitingOptions): Promise<void> {
  const { definitions, store, secretOf, sendWebhook } = options;
  const { runId, app, definition } = state.started;
  const { agent } = await definitions.get(definition);
  const webhook = agent.object.spec.webhooks?.waiting;
  if (!webhook || (await store.toldWaiting(runId)) === wait) return;
  const name = /^\$\{secret:(\w+)\}$/.exec(webhook.secret ?? '')?.[1];
  const secret = name ? secretOf(app, name) : webhook.secret;
  if (name && !secret) throw new Error(`the webhook can't be signed: there is no secret ${name}`);
  await sendWebhook({ url: webhook.url, id: wait, secret, type: 'run.waiting', data: viewOf(state) });
  await store.noteToldWaiting(runId, wait);
}
