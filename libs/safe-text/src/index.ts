export { parseForeignJson } from './foreign-json.ts';
export { cutText, endOfText, escapeUnsafe, isUnsafe, safeText } from './safe-text.ts';
