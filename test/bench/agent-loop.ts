/**
 * The loop of an agent as everybody writes it by hand: ask the model, run its calls in parallel, until it answers. Benches run it
 * bare, in memory, and inside other durable engines, which make its two steps durable. It knows nothing of Pawl.
 */

export type Message = { role: string; content: string | null; tool_calls?: ModelCall[]; tool_call_id?: string };
export type ModelCall = { id: string; function: { name: string; arguments: string } };

/** What a loop does to the world. The results of `callTools` are in the order of the calls. */
export type Steps = {
  askModel(messages: Message[]): Promise<Message>;
  callTools(calls: ModelCall[]): Promise<Message[]>;
};

/** The whole URLs of the model and of the only tool. */
export type Endpoints = { modelUrl: string; toolUrl: string };

/** Gives the answer. */
export async function runLoop(steps: Steps): Promise<string> {
  const messages: Message[] = [question()];
  for (;;) {
    const message = await steps.askModel(messages);
    if (!message.tool_calls) return message.content ?? '';
    messages.push(message, ...(await steps.callTools(message.tool_calls)));
  }
}

/** The same loop without durability, budgets or a record. */
export function runBareLoop(endpoints: Endpoints): Promise<string> {
  return runLoop({
    askModel: (messages) => askModel(endpoints, messages),
    callTools: (calls) => Promise.all(calls.map((call) => callTool(endpoints, call))),
  });
}

export function question(): Message {
  return { role: 'user', content: 'Go.' };
}

export async function askModel({ modelUrl }: Endpoints, messages: Message[]): Promise<Message> {
  const tools = [{ type: 'function', function: { name: 'quick' } }];
  const response = await fetch(modelUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted', stream: true, messages, tools }),
  });
  return await messageOf(response);
}

export async function callTool({ toolUrl }: Endpoints, call: ModelCall): Promise<Message> {
  const { q } = JSON.parse(call.function.arguments) as { q: string };
  const response = await fetch(`${toolUrl}?q=${q}`);
  const content = JSON.stringify({ status: 'ok', data: await response.json() });
  return { role: 'tool', tool_call_id: call.id, content };
}

type Delta = {
  content?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
};

/** Puts a streamed reply together, as every client of a model does. */
async function messageOf(response: Response): Promise<Message> {
  const message: Message = { role: 'assistant', content: '' };
  const calls: ModelCall[] = [];
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const { choices } = JSON.parse(line.slice('data: '.length)) as { choices: { delta: Delta }[] };
    message.content += choices[0]?.delta.content ?? '';
    for (const piece of choices[0]?.delta.tool_calls ?? []) {
      const call = (calls[piece.index] ??= { id: '', function: { name: '', arguments: '' } });
      call.id ||= piece.id ?? '';
      call.function.name += piece.function.name ?? '';
      call.function.arguments += piece.function.arguments ?? '';
    }
  }
  return calls.length > 0 ? { ...message, tool_calls: calls } : message;
}
