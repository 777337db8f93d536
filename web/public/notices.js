// Shows notices in browsers that require a service worker for them, and passes clicks on them to the app. It handles no
// requests: the app and its streams always come from the server.
self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(event.notification.data.path))
})

async function open(path) {
  const [tab] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (tab === undefined) return self.clients.openWindow(path)
  await tab.focus()
  tab.postMessage({ open: path })
}
