import { Outlet } from 'react-router'

/** SettingLayout is the layout of the settings. Each page renders a column. */
export function SettingLayout() {
  return <Outlet />
}
