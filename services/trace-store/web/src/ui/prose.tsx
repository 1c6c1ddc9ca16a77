/** What a model wrote: text only. There is no way from here to markup, links or images. */
import { inlineParts, proseBlocks, type ProseBlock } from '../record/prose-blocks.ts';
import { visibleText } from '../record/format.ts';

export function Prose({ text, className = 'prose' }: { text: string; className?: string }) {
  return (
    <div className={className}>
      {proseBlocks(visibleText(text)).map((block, at) => (
        <Block key={at} block={block} />
      ))}
    </div>
  );
}

function Block({ block }: { block: ProseBlock }) {
  if (block.kind === 'list') {
    const items = block.items.map((item, at) => (
      <li key={at} dir="auto">
        <InlineText text={item} />
      </li>
    ));
    return block.isNumbered ? <ol>{items}</ol> : <ul>{items}</ul>;
  }
  if (block.kind === 'code') {
    return (
      <pre className="long" dir="auto">
        {block.text}
      </pre>
    );
  }
  return (
    <p className={block.kind === 'heading' ? 'heading' : undefined} dir="auto">
      <InlineText text={block.text} />
    </p>
  );
}

function InlineText({ text }: { text: string }) {
  return inlineParts(text).map(({ kind, text: part }, at) => {
    if (kind === 'strong') return <strong key={at}>{part}</strong>;
    if (kind === 'code') return <code key={at}>{part}</code>;
    return part;
  });
}
