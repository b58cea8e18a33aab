"""The web page at `/`: HTML, CSS and JavaScript modules, served without a build step; it loads nothing from other
sites.
"""
