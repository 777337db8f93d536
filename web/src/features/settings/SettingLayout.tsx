import { Outlet } from 'react-router'

/** The frame of the settings; each page brings its own column. */
export function SettingLayout() {
  return <Outlet />
}
