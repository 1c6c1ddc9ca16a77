/**
 * What a request takes of memory beyond its bytes. A field of protobuf has two bytes at the least and becomes an object; so a small
 * request could become a large one by being read. Whoever reads tells how many parts there are before it keeps them.
 */

/** Told of so many parts more: fields of protobuf, values of JSON. Throws `RejectedError` where there is no room for them. */
export type CountParts = (parts: number) => void;

/** Of a part once it is read, measured on the smallest ones. */
export const bytesPerPart = 200;

/** How many parts are told at once. */
export const partsAtOnce = 1_000;
