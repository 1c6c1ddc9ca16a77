/**
 * The most input tokens that a request can be billed for.
 *
 * Every tokenizer in use works on bytes: a token stands for at least one byte of text, so the bytes of the request's JSON
 * bound the tokens of its text. What providers put around it (role markers, a tool-use preamble) is bounded by constants:
 * the largest published preamble is about 530 tokens. Counting with one model's tokenizer would be tighter and wrong for
 * every other model.
 */
const tokensPerRequest = 64;
const tokensPerMessage = 8;
const tokensOfToolPreamble = 544;
const tokensPerTool = 16;

/** Upper bound of input tokens for messages, tools and the schema of the answer, as they are sent. */
export function inputTokensMax(request: {
  messages: readonly unknown[];
  tools: readonly unknown[];
  answerSchema?: object | undefined;
}): number {
  const bytes = Buffer.byteLength(JSON.stringify(request.messages)) + Buffer.byteLength(JSON.stringify(request.tools));
  const ofTools = request.tools.length === 0 ? 0 : tokensOfToolPreamble + tokensPerTool * request.tools.length;
  const ofSchema =
    request.answerSchema === undefined
      ? 0
      : Buffer.byteLength(JSON.stringify(request.answerSchema)) + tokensOfToolPreamble + tokensPerTool;
  return bytes + ofSchema + tokensPerRequest + tokensPerMessage * request.messages.length + ofTools;
}
