/** The frame of every card: an icon, a title, how it stands, how long it took. */
import type { ReactNode } from 'react';
import { Icon, type IconName } from '../../ui/icon.tsx';

export type CardKind = 'thinking' | 'operation' | 'result' | 'conclusion' | 'lost';

type CardProps = {
  kind: CardKind;
  title: string;
  tone?: 'bad' | 'warn' | undefined;
  chip?: ReactNode;
  aside?: string | undefined;
  children: ReactNode;
};

const icons: Record<CardKind, IconName> = {
  thinking: 'thinking',
  operation: 'operation',
  result: 'result',
  conclusion: 'conclusion',
  lost: 'missing',
};

export function Card({ kind, title, tone, chip, aside, children }: CardProps) {
  const Heading = kind === 'conclusion' ? 'h2' : 'h3';
  return (
    <section className={['card', kind, tone ?? ''].join(' ').trim()}>
      <header>
        <Icon name={icons[kind]} />
        <Heading>{title}</Heading>
        {chip}
        {aside !== undefined && <span className="aside">{aside}</span>}
      </header>
      <div className="card-body">{children}</div>
    </section>
  );
}
