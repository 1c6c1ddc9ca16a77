/**
 * The loop as a LangGraph graph: each model reply and each tool result is a task whose write is stored when it is there, and each
 * super-step ends with a checkpoint. Durability `sync`, so that the next step starts when all this is stored.
 */
import { randomUUID } from 'node:crypto';
import { askModel, callTool, question, type Message, type ModelCall } from '../agent-loop.ts';
import { importPeer, readSettings, serveRuns } from './app.ts';

type State = { messages: Message[] };

/** The part of the packages that is used here. */
type LangGraph = {
  START: string;
  END: string;
  Send: new (node: string, input: ModelCall) => object;
  Annotation: {
    (channel: { reducer(current: Message[], added: Message[]): Message[]; default(): Message[] }): object;
    Root(channels: Record<string, object>): object;
  };
  StateGraph: new (state: object) => Builder;
};
type Builder = {
  addNode<Input>(name: string, run: (input: Input) => Promise<State>): Builder;
  addEdge(from: string, to: string): Builder;
  addConditionalEdges(from: string, choose: (state: State) => string | object[], to: string[]): Builder;
  compile(options: { checkpointer: object }): { invoke(input: State, options: object): Promise<State> };
};
type Checkpoints = { PostgresSaver: { fromConnString(url: string): { setup(): Promise<void> } } };

const settings = readSettings();
const { START, END, Send, Annotation, StateGraph } = (await importPeer(settings, '@langchain/langgraph')) as LangGraph;
const checkpoints = (await importPeer(settings, '@langchain/langgraph-checkpoint-postgres')) as Checkpoints;
const checkpointer = checkpoints.PostgresSaver.fromConnString(settings.databaseUrl);
await checkpointer.setup();

const messages = Annotation({ reducer: (current, added) => [...current, ...added], default: () => [] });
const graph = new StateGraph(Annotation.Root({ messages }))
  .addNode('model', async (state: State) => ({ messages: [await askModel(settings, state.messages)] }))
  .addNode('tool', async (call: ModelCall) => ({ messages: [await callTool(settings, call)] }))
  .addEdge(START, 'model')
  .addConditionalEdges('model', chooseNext, ['tool', END])
  .addEdge('tool', 'model')
  .compile({ checkpointer });

function chooseNext(state: State): string | object[] {
  return state.messages.at(-1)?.tool_calls?.map((call) => new Send('tool', call)) ?? END;
}

await serveRuns(settings, async () => {
  const options = { configurable: { thread_id: randomUUID() }, durability: 'sync' };
  const state = await graph.invoke({ messages: [question()] }, options);
  return state.messages.at(-1)?.content ?? '';
});
