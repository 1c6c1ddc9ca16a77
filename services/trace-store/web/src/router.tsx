/** Addresses of the page: which view and with which filters. Everything a reader sees can be shared by its address. */
import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent, type ReactNode } from 'react';

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('popstate', listener);
  };
}

/** The present address: path and query. */
export function useAddress(): { path: string; query: URLSearchParams } {
  const address = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  const [path = '/', query = ''] = address.split('?');
  return { path, query: new URLSearchParams(query) };
}

/** Goes to an address of the page. `isSamePlace` replaces the present one in the history and keeps the scroll. */
export function goTo(address: string, { isSamePlace = false } = {}): void {
  if (isSamePlace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  for (const listener of listeners) listener();
  if (isSamePlace) return;
  const anchor = address.split('#')[1];
  if (anchor === undefined) window.scrollTo(0, 0);
}

/** The present address with some parameters changed; empty ones are taken out. */
export function addressWith(query: URLSearchParams, changes: Record<string, string>, path = location.pathname): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') changed.delete(name);
    else changed.set(name, value);
  }
  const text = changed.toString();
  return text === '' ? path : `${path}?${text}`;
}

type LinkProps = { to: string; children: ReactNode } & Omit<
  AnchorHTMLAttributes<HTMLAnchorElement>,
  'href' | 'onClick'
>;

/** A link within the page. */
export function Link({ to, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    goTo(to);
  };
  return (
    <a href={to} onClick={follow} {...rest}>
      {children}
    </a>
  );
}
