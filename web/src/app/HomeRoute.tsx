import { HomeLayout } from '@/features/home/HomeLayout'
import { Shortcuts } from '@/features/shortcuts/Shortcuts'

/** All of /home: its frame, and the keys that work everywhere in it. */
export function HomeRoute() {
  return (
    <>
      <HomeLayout />
      <Shortcuts />
    </>
  )
}
