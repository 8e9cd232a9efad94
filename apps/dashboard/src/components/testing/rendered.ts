/** Renders components to markup without a browser: what a person reads at first, before anything is clicked. */
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';

export function markupOf(node: ReactNode): string {
  return renderToStaticMarkup(node);
}

/** The texts of the markup in order, one entry per piece between two tags, without empty ones. */
export function textsOf(node: ReactNode): readonly string[] {
  return markupOf(node)
    .split(/<[^>]*>/)
    .map(decoded)
    .filter((text) => text !== '');
}

/** All text of the markup as one line. */
export function textOf(node: ReactNode): string {
  return decoded(markupOf(node).replaceAll(/<[^>]*>/g, ' ')).replaceAll(/ ([.,;:])/g, '$1');
}

function decoded(text: string): string {
  const plain = text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&');
  return plain.replaceAll(/\s+/g, ' ').trim();
}

/** Values of an attribute, in order. */
export function attributesOf(node: ReactNode, name: string): readonly string[] {
  return [...markupOf(node).matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value = '']) => decoded(value));
}
