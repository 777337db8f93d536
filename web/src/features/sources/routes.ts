export { sourcesLoader } from './loader'
export { SourcesPage } from './SourcesPage'
