/** Server-sent events out of a stream of text, piece by piece. Pure. Source: HTML Living Standard, server-sent events. */

export type ServerEvent = { id: string | undefined; name: string; data: string };

/** Takes the pieces as they come and gives the events that they complete. */
export function createEventParser(): (piece: string) => ServerEvent[] {
  let rest = '';
  return (piece) => {
    const blocks = (rest + piece).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    return blocks.flatMap(parseBlock);
  };
}

function parseBlock(block: string): ServerEvent[] {
  const event: ServerEvent = { id: undefined, name: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === 'data') data.push(value);
    else if (field === 'event') event.name = value;
    else if (field === 'id') event.id = value;
  }
  return data.length === 0 ? [] : [{ ...event, data: data.join('\n') }];
}
