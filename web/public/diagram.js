// Draws diagrams for the app in a frame with an origin of its own that may load nothing (see internal/api/app.go). The
// app passes in the library, and then one source after the other. The result is shown as a picture, never as HTML.
addEventListener('message', ({ source, data, ports: [port] }) => {
  if (source !== parent || port === undefined) return
  const script = document.createElement('script')
  script.src = URL.createObjectURL(new Blob([data], { type: 'text/javascript' }))
  script.onload = () => {
    port.onmessage = async ({ data: { id, source, config } }) => {
      try {
        port.postMessage({ id, ...(await draw(`d${id}`, source, config)) })
      } catch (cause) {
        port.postMessage({ id, error: String(cause) })
      }
    }
  }
  document.head.append(script)
})

async function draw(name, source, config) {
  const mermaid = globalThis.mermaid
  mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', suppressErrorRendering: true, ...config })
  const { svg, diagramType } = await mermaid.render(name, source)
  const box = document.createElement('div')
  box.innerHTML = svg
  const picture = box.querySelector('svg')
  const { width, height } = picture.viewBox.baseVal
  picture.removeAttribute('style')
  picture.setAttribute('width', Math.ceil(width))
  picture.setAttribute('height', Math.ceil(height))
  return {
    svg: new XMLSerializer().serializeToString(picture),
    kind: diagramType,
    title: picture.querySelector(':scope > title')?.textContent ?? '',
    width: Math.ceil(width),
    height: Math.ceil(height),
  }
}
