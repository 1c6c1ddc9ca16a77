/**
 * Pictures and other files that a result names by reference. Pure. What a tool wrote is not to be believed: a reference leads to
 * the results of the shown run and nowhere else, and a type says at most how a file is offered.
 */
import { ExactNumber, isExactRecord, isScalar, parseExact, type ExactRecord, type ExactValue } from './exact-json.ts';

/** What the tool-runner keeps of a result, and what it is called when it is saved. */
export type StoredFile = { path: string; name: string };

export type StoredMedia = StoredFile & {
  type: string;
  bytes: number;
  /** Whether it is shown in place; else it is a download. */
  isShown: boolean;
};

const mediaMax = 100;
const shownBytesMax = 10_485_760;
const refPattern = /^[^/]{1,200}\/([A-Za-z0-9_-]{1,100})\/(\d{1,6})\/(\d{1,6})(?:\/(media-\d{1,4}|text))?$/;
const typePattern = /^[a-z]+\/[a-z0-9.+-]{1,100}$/;
const unknownType = 'application/octet-stream';

/** Raster pictures: there is nothing in them that a browser would run. */
const pictureEndings: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'image/avif': '.avif',
  'image/bmp': '.bmp',
};

/** Files that run nothing when they are opened. Others are saved without an ending. */
const fileEndings: Readonly<Record<string, string>> = {
  ...pictureEndings,
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'audio/mpeg': '.mp3',
  'audio/wav': '.wav',
  'audio/ogg': '.ogg',
  'video/mp4': '.mp4',
  'video/webm': '.webm',
};

/** The files that a result (JSON text) names, each once. `runId`: of the run they have to be of; undefined: of any run of the app. */
export function mediaIn(data: string, runId: string | undefined): StoredMedia[] {
  // Most results name none, and some are long.
  if (!data.includes('/media-')) return [];
  const found = new Map<string, StoredMedia>();
  const look = (value: ExactValue): void => {
    if (isScalar(value) || found.size >= mediaMax) return;
    if (isExactRecord(value)) {
      const media = mediaOf(value, runId);
      if (media && !found.has(media.path)) found.set(media.path, media);
    }
    for (const inner of Object.values(value)) look(inner);
  };
  const value = parseExact(data);
  if (value !== undefined) look(value);
  return [...found.values()];
}

/** Whether a type is one of those that are shown in place. */
export function isPictureType(type: string): boolean {
  return Object.hasOwn(pictureEndings, type);
}

/** The whole of a result of which an observation holds a part. `runId` as above. */
export function wholeResultOf(ref: string | null, runId: string | undefined): StoredFile | undefined {
  const place = placeOf(ref, runId);
  if (!place || place.part?.startsWith('media-')) return undefined;
  return { path: place.path, name: `${place.name}${place.part === 'text' ? '.txt' : '.json'}` };
}

function mediaOf(told: ExactRecord, runId: string | undefined): StoredMedia | undefined {
  const { ref, bytes, contentType, mimeType } = told;
  const place = placeOf(ref, runId);
  if (!place?.part?.startsWith('media-') || !(bytes instanceof ExactNumber)) return undefined;
  const type = cleanType(contentType ?? mimeType);
  const size = Number(bytes.text);
  return {
    path: place.path,
    name: `${place.name}${Object.hasOwn(fileEndings, type) ? fileEndings[type] : ''}`,
    type,
    bytes: size,
    isShown: isPictureType(type) && size <= shownBytesMax,
  };
}

function placeOf(ref: unknown, runId: string | undefined): (StoredFile & { part: string | undefined }) | undefined {
  const [, ofRun, m, i, part] = (typeof ref === 'string' && refPattern.exec(ref)) || [];
  if (ofRun === undefined || (runId !== undefined && ofRun !== runId)) return undefined;
  const parts = [ofRun, m, i, ...(part === undefined ? [] : [part])];
  return { path: `/v1/tools/results/${parts.join('/')}`, name: parts.join('-'), part };
}

function cleanType(told: ExactValue | undefined): string {
  const type = typeof told === 'string' ? told.toLowerCase().split(';')[0]?.trim() : undefined;
  return type !== undefined && typePattern.test(type) ? type : unknownType;
}
