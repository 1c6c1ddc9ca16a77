/** Builds the page into web/dist unless what is there was built from the same sources. True when dist is fresh. */
export function buildPage(say?: (sentence: string) => void): Promise<boolean>;
