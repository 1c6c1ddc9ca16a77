/** The data of one server-sent event that comes in pieces: `data:` lines without their prefix, up to the empty line that ends it. Pure. */

export type EventDataReader = {
  /** What of the piece is data; `rest` is what comes after the event's end. */
  write(piece: string): { data: string; rest: string | undefined };
};

export function createEventDataReader(): EventDataReader {
  let state: 'start' | 'data' | 'other' = 'start';
  let lineHead = '';
  let isAfterReturn = false;
  const lineEnd = /[\r\n]/;
  const begin = () => {
    state = 'start';
    lineHead = '';
  };
  return {
    write(piece) {
      const found: string[] = [];
      let left = piece;
      while (left !== '') {
        if (isAfterReturn && left.startsWith('\n')) left = left.slice(1);
        isAfterReturn = false;
        const end = left.search(lineEnd);
        const line = end === -1 ? left : left.slice(0, end);
        if (state === 'start') {
          lineHead += line;
          const isKnown = lineHead.length > 5 || end !== -1;
          if (isKnown && lineHead.startsWith('data:')) {
            found.push(lineHead.slice(5).replace(/^ /, ''));
            state = 'data';
          } else if (isKnown && lineHead !== '') state = 'other';
        } else if (state === 'data') found.push(line);
        if (end === -1) break;
        isAfterReturn = left[end] === '\r';
        left = left.slice(end + 1);
        if (state === 'start') return { data: found.join(''), rest: left };
        begin();
      }
      return { data: found.join(''), rest: undefined };
    },
  };
}
