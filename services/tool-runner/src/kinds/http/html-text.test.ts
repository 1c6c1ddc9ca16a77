import { describe, expect, test } from 'vitest';
import { textOfHtml } from './html-text.ts';

describe('text of HTML', () => {
  test.each([
    ['<p>Hi <b>you</b></p><p>there</p>', 'Hi you\nthere'],
    ['<script>alert("<p>x</p>")</script>a<style>p{}</style>b', 'ab'],
    ['<head><title>T</title></head><body>B</body>', 'B'],
    ['<ul><li>one<li>two</ul>', '- one\n- two'],
    ['<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>', '1\t\t2\n3'],
    ['a &amp; b &lt;c&gt; &#x202e; &nbsp;&unknown;', 'a & b <c> \u202e \u00a0&unknown;'],
    ['<img src=x onerror="alert(1)">text<!-- hidden -->', 'text'],
    ['<a href="javascript:alert(1)">link</a>', 'link'],
    ['<noscript><p>x</p></noscript>y', 'y'],
    ['a<br>b<br/>c', 'a\nb\nc'],
    ['1 < 2 and <b', '1 < 2 and'],
    ['', ''],
  ])('%s', (html, text) => {
    expect(textOfHtml(html)).toBe(text);
  });

  test.each(['<div>', '<table><tr><td>', '<!--', '<a b="', '&amp;', '</p>', '<p', '&'])(
    'a page of nothing but %s ends',
    (piece) => {
      expect(textOfHtml(piece.repeat(100_000)).length).toBeLessThanOrEqual(500_000);
    },
  );
});
