export { Markdown, type MarkdownProps, preloadMarkdown } from './Markdown'
