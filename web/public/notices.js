// Shows notices where the browser wants a service worker for it, and brings a click on one to the app. It answers no request:
// what the app shows, and its streams, always come from the server.
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
