"""The web page at `/`: HTML, CSS and JavaScript modules without a build step; it loads nothing from other sites."""
