/** The present time, in UTC and in a time zone. Pure: the time comes in. */
import { refusal, type Outcome } from '../../call/outcome.ts';

/** `timeZone` is an IANA name; UTC without it. */
export function currentTime(nowMs: number, timeZone: string | undefined): Outcome {
  const zone = timeZone ?? 'UTC';
  const parts = partsIn(nowMs, zone);
  if (!parts) {
    return refusal(
      'invalid_arguments',
      `/timeZone: expected an IANA time zone such as America/Sao_Paulo; got "${zone.slice(0, 60)}".`,
    );
  }
  const { year, month, day, hour, minute, second, timeZoneName, weekday } = parts;
  const offset = (timeZoneName ?? '').replace('GMT', '').replace(/^(\+00:00)?$/, 'Z');
  const data = {
    utc: new Date(nowMs).toISOString(),
    timeZone: zone,
    local: `${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`,
    date: `${year}-${month}-${day}`,
    weekday,
  };
  return { kind: 'result', data: JSON.stringify(data) };
}

function partsIn(nowMs: number, timeZone: string): Record<string, string> | undefined {
  try {
    const format = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      weekday: 'long',
      timeZoneName: 'longOffset',
    });
    return Object.fromEntries(format.formatToParts(nowMs).map(({ type, value }) => [type, value]));
  } catch {
    return undefined;
  }
}
