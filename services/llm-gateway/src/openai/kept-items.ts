/** Items of earlier responses, which a request may refer to by their ids for as long as replies are kept. */
import type { Queryable } from '@pawl/db';
import { storedSchema } from './complete-call.ts';
import { OpenAiError } from './openai-errors.ts';
import type { ResponsesRequest } from './responses-request.ts';

type Item = Exclude<ResponsesRequest['input'], string>[number];

export type KeptItems = {
  /** The input with items in place of references to them. Throws `OpenAiError` for one that is not kept. */
  resolve(app: string, input: ResponsesRequest['input']): Promise<ResponsesRequest['input']>;
};

export function createKeptItems(database: Queryable): KeptItems {
  return {
    async resolve(app, input) {
      if (typeof input === 'string') return input;
      const callIds = input.flatMap((item) => (item.type === 'item_reference' ? [placeOf(item.id).callId] : []));
      if (callIds.length === 0) return input;
      const rows = await database.query<{ thought: string }>(
        `select thought from gateway.replies where run_id = any ($1) and m = 0 and thought <> ''`,
        [[...new Set(callIds)]],
      );
      const answers = rows
        .map(({ thought }) => storedSchema.parse(JSON.parse(thought)))
        .flatMap((stored) => (stored.app === app ? [stored.answer] : []));
      return input.map((item, position) => {
        if (item.type !== 'item_reference') return item;
        const { callId, call } = placeOf(item.id);
        const found = itemOf(
          answers.find(({ id }) => id === callId),
          call,
        );
        if (found) return found;
        const message = `input.${position}: there is no item ${item.id}, or it is no longer kept; send it whole`;
        throw new OpenAiError({ code: 'invalid_request', message }, `input.${position}.id`);
      });
    },
  };
}

/** Ids of items are made of their response's. `call`: which of its calls; absent for its message. */
function placeOf(id: string): { callId: string; call: number | undefined } {
  const [, hex = '', call] = /^(?:msg|fc)_([0-9a-f]{32})(?:_(\d{1,4}))?$/.exec(id) ?? [];
  return { callId: `chat_${hex}`, call: call === undefined ? undefined : Number(call) };
}

type Answer = ReturnType<typeof storedSchema.parse>['answer'];

function itemOf(answer: Answer | undefined, position: number | undefined): Item | undefined {
  const [choice] = answer?.choices ?? [];
  if (!choice) return undefined;
  if (position === undefined) return { role: 'assistant', content: choice.text || choice.refusal };
  const call = choice.calls[position];
  return call && { type: 'function_call', call_id: call.id, name: call.tool, arguments: call.args };
}
