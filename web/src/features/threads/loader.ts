import type { LoaderFunctionArgs } from 'react-router'
import { threadList } from '@/entities/thread/threads'

/** Starts reading the threads; the page need not wait for them. */
export function threadsLoader(_: LoaderFunctionArgs): null {
  void threadList.load()
  return null
}
