export {
  type CitationProps,
  loadFormulaStyles,
  Markdown,
  type MarkdownProps,
  markdownToHtml,
  preloadMarkdown,
} from './Markdown'
export { type MarkdownTexts, setMarkdownTexts } from './texts'
export { markWeak } from './weak'
