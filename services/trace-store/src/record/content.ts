/**
 * How the body of a record is kept: small ones in their row, larger ones as texts that are stored once in a run. Pure.
 * The texts of a body, one after the other, are the body, byte for byte.
 */
import { sha256 } from '@pawl/contracts';

/** Bodies up to this many bytes stay in their row. */
const inlineBytesMax = 2_048;
/** Pieces below this many characters are kept together with their neighbours. */
const pieceCharsMin = 512;

export type Content = { sha256: string; text: string };

export type KeptBody = { body: string | null; bytes: number; contents: Content[] };

/** Where a body goes. `pieces` is the body cut where its parts may be told again by other records. */
export function keepBody(pieces: readonly string[]): KeptBody {
  const body = pieces.join('');
  const bytes = Buffer.byteLength(body);
  if (bytes <= inlineBytesMax) return { body, bytes, contents: [] };
  const contents = joinSmall(pieces).map((text) => ({ sha256: sha256(text), text }));
  return { body: null, bytes, contents };
}

function joinSmall(pieces: readonly string[]): string[] {
  const joined: string[] = [];
  let small = '';
  for (const piece of pieces) {
    if (piece.length < pieceCharsMin) {
      small += piece;
      continue;
    }
    if (small !== '') joined.push(small);
    small = '';
    joined.push(piece);
  }
  if (small !== '') joined.push(small);
  return joined;
}
