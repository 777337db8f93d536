export { loadFormulaStyles, Markdown, type MarkdownProps, preloadMarkdown } from './Markdown'
