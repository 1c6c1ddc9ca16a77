/**
 * Building the document. Text that comes from data only ever becomes text: there is no way here to set markup.
 */

/**
 * An element such as `element('a.card', { href }, 'text', child)`. Null children and attributes are left out;
 * an attribute that is a function listens to the event of that name.
 */
export function element(selector, attributes = {}, ...children) {
  const [name, ...classes] = selector.split('.');
  const node = document.createElement(name);
  if (classes.length > 0) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

/** Appends nodes, texts and lists of them. */
export function append(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

const iconPaths = {
  thinking: 'M9 18h6M10 21h4M12 3a6 6 0 0 0-3.6 10.8c.7.6 1.1 1.3 1.1 2.2h5c0-.9.4-1.6 1.1-2.2A6 6 0 0 0 12 3Z',
  operation: 'M5 12h13M13 6l6 6-6 6',
  result: 'M4 5h16v14H4zM4 10h16M10 10v9',
  conclusion: 'M6 21V4M6 4h11l-2.5 4L17 12H6',
  note: 'M12 8v5M12 16.5v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  missing: 'M12 17v.1M9.5 9a2.5 2.5 0 1 1 3.6 2.2c-.7.4-1.1.9-1.1 1.8M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
};

/** A decorative icon. */
export function icon(name) {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', 'icon');
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', iconPaths[name]);
  svg.append(path);
  return svg;
}
