/** Decorative icons, drawn as lines. They never carry meaning alone. */

const paths = {
  thinking: 'M9 18h6M10 21h4M12 3a6 6 0 0 0-3.6 10.8c.7.6 1.1 1.3 1.1 2.2h5c0-.9.4-1.6 1.1-2.2A6 6 0 0 0 12 3Z',
  operation: 'M5 12h13M13 6l6 6-6 6',
  result: 'M4 5h16v14H4zM4 10h16M10 10v9',
  conclusion: 'M6 21V4M6 4h11l-2.5 4L17 12H6',
  note: 'M12 8v5M12 16.5v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  missing: 'M12 17v.1M9.5 9a2.5 2.5 0 1 1 3.6 2.2c-.7.4-1.1.9-1.1 1.8M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM5 20c.8-3.4 3.6-5 7-5s6.2 1.6 7 5',
  done: 'M5 12.5l4.5 4.5L19 7.5',
  stopped: 'M6 6l12 12M18 6L6 18',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" className="icon">
      <path d={paths[name]} />
    </svg>
  );
}
