/** The one error that the client throws. */

/**
 * `status` is the HTTP status, or 0 when there was no answer; `code` is from Pawl's error catalogue, `unreachable` without an
 * answer, `unknown` for an answer that is not Pawl's; `detail` is a sentence for people.
 */
export class PawlError extends Error {
  override readonly name = 'PawlError';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  constructor(problem: { status: number; code: string; detail: string }, cause?: unknown) {
    super(`${problem.detail} (${problem.code})`, cause === undefined ? undefined : { cause });
    this.status = problem.status;
    this.code = problem.code;
    this.detail = problem.detail;
  }
}

/** Whether the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof PawlError && [0, 429, 502, 503, 504].includes(error.status);
}

/** The error of an answer that is not a success. */
export async function errorOf(response: Response): Promise<PawlError> {
  const text = await response.text().catch(() => '');
  const { status } = response;
  try {
    const { code, detail, title } = JSON.parse(text) as { code?: string; detail?: string; title?: string };
    if (code) return new PawlError({ status, code, detail: detail ?? title ?? code });
  } catch {
    // Not a problem document: a proxy, or no Pawl at all.
  }
  const excerpt = text.replaceAll(/\s+/g, ' ').slice(0, 200);
  return new PawlError({ status, code: 'unknown', detail: `answered with ${status}${excerpt && `: ${excerpt}`}` });
}
