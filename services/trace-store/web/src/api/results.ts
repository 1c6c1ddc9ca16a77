/** Files of tools, which the tool-runner keeps. */
import { ApiError, request } from './request.ts';

/** The bytes of a file, with the type that the tool-runner answers for. */
export async function fetchMedia(path: string, signal?: AbortSignal): Promise<Blob> {
  const response = await request(path, signal ? { signal } : {});
  return await response.blob().catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, {});
  });
}
