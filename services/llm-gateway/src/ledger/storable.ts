/** Text that Postgres can keep: no NUL, no half of a surrogate pair; both become U+FFFD. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
