import { LandingPage } from '@/features/landing/LandingPage'
import { preloadMarkdown } from '@/lib/markdown'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'

const chat = new LazyPart(async () => {
  const [{ SampleChat }] = await Promise.all([import('@/features/chat/sample/SampleChat'), preloadMarkdown()])
  return SampleChat
})

/** LandingRoute is the landing page. The renderer of its answers is loaded after its first paint. */
export function LandingRoute() {
  return <LandingPage Chat={useLazyPart(chat, true)} />
}
