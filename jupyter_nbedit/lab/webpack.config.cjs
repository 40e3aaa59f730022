// JupyterLab's builder merges this into its own configuration.
module.exports = {
  // The default computes some ids from absolute paths, so that builds in two folders would differ.
  optimization: { moduleIds: 'natural' }
};
