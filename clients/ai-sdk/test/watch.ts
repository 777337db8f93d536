import { watch } from './documented/event-source.js'

/** A page that watches an answer with `EventSource`, for the browser tests of web/e2e. */
watch(new URLSearchParams(location.search).get('message') ?? '', ({ text, done }) => {
  document.body.textContent = text
  document.title = done ? 'done' : 'writing'
})
